package event

// AlertData is the data of surge.alert. A field that could not be looked up in time
// is null.
type AlertData struct {
	LevelData
	Tier       string  `json:"tier"`
	Reason     string  `json:"reason"`
	AlertRunID string  `json:"episodeId"`
	OpenRooms  *int    `json:"openRooms"`
	TopRooms   []Room  `json:"topRooms"`
	Peak       *Peak   `json:"peak"`
	Action     string  `json:"action"`
	AckURL     *string `json:"ackUrl"`
	// WorstLevel is the highest level in the window of a digest; null in other
	// alerts.
	WorstLevel *string `json:"worstLevel"`
}

// Room is one of the rooms with the highest score.
type Room struct {
	RoomLabel    string `json:"roomLabel"`
	Color        string `json:"color"`
	NursingLevel string `json:"nursingLevel"`
}

// Peak is the instant at which the most nurses are expected to be needed.
type Peak struct {
	At        string  `json:"at"`
	NursesP90 float64 `json:"nursesP90"`
}
