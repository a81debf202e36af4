namespace Weir;

/// <summary>A fallback that gets the item.</summary>
internal sealed class ItemFallback<TItem, TResult>(Func<ItemAttempt<TItem>, ValueTask<TResult>> result) : TypedFallback<TResult>
{
    internal override Type? ItemType => typeof(TItem);

    public override ValueTask<TResult> GetAsync(object? item, long index, int attempt, Exception error) =>
        result(new(((IWithItem<TItem>)item!).Item, index, attempt, error));
}
