package after

type UserID int64

var seen []UserID

func handle(id UserID) { seen = append(seen, id) }

func loop(ids []int64) {
	for _, x := range ids {
		handle(UserID(x)) // free conversion; UserID is int64 at runtime
	}
}
