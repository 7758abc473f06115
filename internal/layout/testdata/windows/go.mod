module example.com/windows

go 1.26
