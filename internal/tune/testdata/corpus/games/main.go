// Command games plays games of chess at random, and writes and reads their notation.
package main

import (
	"fmt"
	"log"
	"math/rand/v2"
	"strings"

	"github.com/corentings/chess/v2"
)

func main() {
	rng := rand.New(rand.NewPCG(1, 2))
	var notation strings.Builder
	for range 25 {
		game := chess.NewGame()
		for range 80 {
			moves := game.ValidMoves()
			if len(moves) == 0 || game.Outcome() != chess.NoOutcome {
				break
			}
			if err := game.Move(&moves[rng.IntN(len(moves))], nil); err != nil {
				log.Fatal(err)
			}
		}
		notation.WriteString(game.String() + "\n\n")
	}
	moves := 0
	scanner := chess.NewScanner(strings.NewReader(notation.String()))
	var games []*chess.Game
	for scanner.HasNext() {
		game, err := scanner.ParseNext()
		if err != nil {
			log.Fatal(err)
		}
		moves += len(game.Moves())
		games = append(games, game)
	}
	fmt.Println(len(games), moves)
}
