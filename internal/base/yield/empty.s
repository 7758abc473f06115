// This file lets the package declare functions without bodies (go:linkname).
