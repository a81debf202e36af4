namespace Weir;

/// <summary>
/// Hooks that get the item itself, with its index, the number of the attempt and the exception. They are called when, and as often as, the hooks of the same
/// name in <see cref="ParallelRunOptions"/>, which get the index. If both are set, those are called first.
/// </summary>
/// <typeparam name="TItem">
/// The type of the operator's items; for operators over batches, <see cref="IReadOnlyList{T}"/> of it. Operators over items of another type refuse the hooks.
/// </typeparam>
/// <remarks>The hooks are called from several threads at once.</remarks>
public sealed record ItemHooks<TItem> : ItemHooks
{
    /// <summary>Called before an item's first attempt. An exception from it is a failure of the item, which is not retried.</summary>
    /// <value>The default is <see langword="null"/>.</value>
    public Func<ItemAttempt<TItem>, ValueTask>? OnStartItemAsync { get; init; }

    /// <summary>Called after an item's call has returned its result. An exception from it is a failure of the item, which is not retried.</summary>
    /// <value>The default is <see langword="null"/>.</value>
    public Func<ItemAttempt<TItem>, ValueTask>? OnCompleteItemAsync { get; init; }

    /// <summary>Called before an item waits for another attempt, with the failed attempt. An exception from it is the item's failure.</summary>
    /// <value>The default is <see langword="null"/>.</value>
    public Func<ItemAttempt<TItem>, ValueTask>? OnRetryAsync { get; init; }

    /// <summary>
    /// Called once for each failed item, with its last attempt. Return <see langword="false"/> to stop the run. An exception from it is one more failure of the
    /// item.
    /// </summary>
    /// <value>The default is <see langword="null"/>.</value>
    public Func<ItemAttempt<TItem>, ValueTask<bool>>? OnErrorAsync { get; init; }

    internal override Type ItemType => typeof(TItem);
}
