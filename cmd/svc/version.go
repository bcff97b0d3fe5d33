package main

import (
	"fmt"
	"runtime"
)

// revision is the commit of the build; the Makefile sets it.
var revision = "unknown"

// release returns the name of this build.
func release() string {
	return fmt.Sprintf("svc %s, %s %s/%s", revision, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
