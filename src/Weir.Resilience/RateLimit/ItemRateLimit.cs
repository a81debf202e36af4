namespace Weir.Resilience;

/// <summary>The limit of one item, of a limiter that knows by itself which items share one. Two of the same item are equal.</summary>
internal sealed record ItemRateLimit<TItem>(Func<TItem, CancellationToken, ValueTask<IDisposable?>> Enter, TItem Item) : IRateLimit
{
    public ValueTask<IDisposable?> EnterAsync(CancellationToken cancellationToken) => Enter(Item, cancellationToken);
}
