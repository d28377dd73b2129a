"""McXai: classification and misclassification games over masked players, searched by Monte Carlo tree search."""
