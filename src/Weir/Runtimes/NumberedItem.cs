namespace Weir.Runtimes;

/// <summary>An item with its place in the input.</summary>
internal readonly record struct NumberedItem<TItem>(TItem Item, long Index);
