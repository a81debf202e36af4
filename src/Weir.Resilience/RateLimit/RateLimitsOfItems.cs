namespace Weir.Resilience;

/// <summary>A limiter of another kind, which has keys of its own.</summary>
internal sealed class RateLimitsOfItems<TItem>(Func<TItem, CancellationToken, ValueTask<IDisposable?>> enter) : RateLimits, IItemRateLimits<TItem>
{
    public override int Count => 0;

    internal override Type ItemType => typeof(TItem);

    internal override int CountWaiting() => 0;

    public IRateLimit Of(TItem item) => new ItemRateLimit<TItem>(enter, item);
}
