namespace Weir.Resilience;

/// <summary>One instance of a policy for each key.</summary>
/// <typeparam name="TItem">What has a key.</typeparam>
/// <typeparam name="TPolicy">The policy.</typeparam>
internal interface IKeyed<in TItem, TPolicy>
{
    /// <summary>The instance for an item's key. It is kept at least until it is released. Runs the user's functions, and throws what they throw.</summary>
    KeyUse<TPolicy> Use(TItem item);
}
