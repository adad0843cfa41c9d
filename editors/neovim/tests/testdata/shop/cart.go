package cart

// Item is a product in the cart.
type Item struct {
	Name     string
	Category string
	Price    int // in cents
}

// Total returns the price of all items.
func Total(items []Item) int {
	total := 0
	for _, item := range items {
		total += item.Price
	}
	return total
}

// Count returns the number of items.
func Count(items []Item) int {
	return len(items)
}
