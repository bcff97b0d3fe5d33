package readapi

// StatusReasons returns every reason with the status that it causes.
func StatusReasons() (all []string) {
	for _, row := range statusReasons {
		all = append(all, row.reason+" "+row.status)
	}
	return all
}
