package readapi

// StatusReasons lists the reasons with what each makes of the status.
func StatusReasons() (all []string) {
	for _, row := range statusReasons {
		all = append(all, row.reason+" "+row.status)
	}
	return all
}
