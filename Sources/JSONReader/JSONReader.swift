// JSONReader
