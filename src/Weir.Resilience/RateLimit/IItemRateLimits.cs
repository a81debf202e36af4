namespace Weir.Resilience;

/// <summary>Rate limits that are no <see cref="TokenBucket"/>, for each item one.</summary>
internal interface IItemRateLimits<in TItem>
{
    IRateLimit Of(TItem item);
}
