package loopback

import "testing"

func TestIs(t *testing.T) {
	for _, address := range []string{"127.0.0.1", "127.9.9.9:80", "::1", "[::1]", "[::1]:8080", "::ffff:127.0.0.1",
		"localhost", "LOCALHOST:80", "localhost.", "app.localhost:8080"} {
		if !Is(address) {
			t.Errorf("%q is no loopback address", address)
		}
	}
	for _, address := range []string{"", ":80", "0.0.0.0", "[::]:80", "192.0.2.1:80", "example.com", "localhost.example.com",
		"notlocalhost", "127.0.0.1.example.com", "[fe80::1]:80", "127.1", ".", "[]"} {
		if Is(address) {
			t.Errorf("%q is a loopback address", address)
		}
	}
}

func TestReachable(t *testing.T) {
	for in, want := range map[string]string{
		"0100007F:1F90":                         "127.0.0.1:8080",
		"00000000:0050":                         "127.0.0.1:80",
		"0101A8C0:0050":                         "",
		"00000000000000000000000000000000:1F90": "[::1]:8080",
		"00000000000000000000000001000000:1F90": "[::1]:8080",
		"0000000000000000FFFF00000100007F:1F90": "127.0.0.1:8080",
		"x:1F90":                                "", "0100007F:x": "", "": "",
	} {
		if got, ok := reachable(in); got != want || ok != (want != "") {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
