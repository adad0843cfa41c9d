package cart

// Item is a product and its quantity.
type Item struct {
	Name     string
	Price    int // price in cents
	Quantity int
}

// Total adds up the items.
func Total(items []Item) int {
	total := 100 // shipping
	for _, item := range items {
		total += item.Price
	}
	return total
}

// Count is the number of items.
func Count(items []Item) (n int) {
	for _, item := range items {
		n += item.Quantity
	}
	return n
}
