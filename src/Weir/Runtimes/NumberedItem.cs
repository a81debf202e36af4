using Weir.Operators;

namespace Weir.Runtimes;

/// <summary>An item with its place in the input.</summary>
internal readonly record struct NumberedItem<TItem>(TItem Item, long Index)
{
    public static ItemKeys<NumberedItem<TItem>>? KeysOf(ItemKeys<TItem>? keys) => keys?.Of(static (NumberedItem<TItem> numbered) => numbered.Item);
}
