using System.Diagnostics.CodeAnalysis;

namespace Weir;

/// <summary>What a run calls for its items, with their index in the source, and for its pauses.</summary>
/// <remarks>
/// Immutable: a <c>with</c> expression makes a changed copy. Hooks that get the item itself are in <see cref="Items"/>. The hooks are called from several
/// threads at once. Indices above <see cref="int.MaxValue"/>, which only an endless stream reaches, are passed as <see cref="int.MaxValue"/>.
/// </remarks>
public sealed record RunHooks
{
    internal static RunHooks None { get; } = new();

    /// <summary>Called before an item's call, with the item's index. An exception from it is a failure of the item.</summary>
    /// <value>The default is <see langword="null"/>.</value>
    public Func<int, ValueTask>? OnStartItemAsync { get; init; }

    /// <summary>Called after an item's call has returned its result, with the item's index. An exception from it is a failure of the item.</summary>
    /// <value>The default is <see langword="null"/>.</value>
    public Func<int, ValueTask>? OnCompleteItemAsync { get; init; }

    /// <summary>
    /// Called once for each failed item, with its index and exception. Return <see langword="false"/> to stop the run: no further item starts, and running
    /// items are cancelled.
    /// </summary>
    /// <value>The default is <see langword="null"/>.</value>
    /// <remarks>
    /// It is not called for items that are cancelled because the run stopped. The <see cref="ErrorMode"/> decides what a stopped run returns for the items
    /// that ran. An exception from this hook is one more failure of the item.
    /// </remarks>
    public Func<int, Exception, ValueTask<bool>>? OnErrorAsync { get; init; }

    /// <summary>Called before an item waits for another attempt, with its index, the number of the failed attempt (from 1) and its exception.</summary>
    /// <value>The default is <see langword="null"/>.</value>
    /// <remarks>An exception from it is the item's failure.</remarks>
    public Func<int, int, Exception, ValueTask>? OnRetryAsync { get; init; }

    /// <summary>
    /// Called when a stream pauses reading its source because its consumer is <see cref="OutputOptions.ChannelCapacity"/> results behind. Gets the number of
    /// items read so far. Operators that do not return a stream never pause.
    /// </summary>
    /// <value>The default is <see langword="null"/>.</value>
    public Func<int, ValueTask>? OnThrottleAsync { get; init; }

    /// <summary>Called when a paused stream resumes reading, before it starts its next item. Gets the number of items read so far.</summary>
    /// <value>The default is <see langword="null"/>.</value>
    public Func<int, ValueTask>? OnDrainAsync { get; init; }

    /// <summary>
    /// Hooks that get the item itself, the attempt and the exception: <c>new ItemHooks&lt;T&gt; { OnRetryAsync = attempt => … }</c> for items of type T. Where
    /// no other hooks are needed, they can be set in place of this object.
    /// </summary>
    /// <value><see langword="null"/>, the default, for none. They must be those of the operator's items.</value>
    /// <remarks>The run remembers its items while they are under way, which costs some 150 bytes per item.</remarks>
    public ItemHooks? Items { get; init; }

    /// <summary>Whether only hooks of items are set. Then they join those by index.</summary>
    internal bool HasOnlyItems => Items is not null && this with { Items = null } == None;

    /// <summary>Hooks that get the item itself, in place of all hooks.</summary>
    /// <param name="items">The hooks.</param>
    /// <returns>They as <see cref="Items"/>; <see langword="null"/> for <see langword="null"/>.</returns>
    [return: NotNullIfNotNull(nameof(items))]
    [SuppressMessage("Usage", "CA2225:Operator overloads have named alternates", Justification = "new RunHooks { Items = ... } is the same.")]
    public static implicit operator RunHooks?(ItemHooks? items) => items is null ? null : new RunHooks { Items = items };
}

/// <summary>Hooks that get the item itself. Create them as <see cref="ItemHooks{TItem}"/>.</summary>
public abstract record ItemHooks
{
    private protected ItemHooks()
    {
    }

    /// <summary>The type of the items, for messages.</summary>
    internal abstract Type ItemType { get; }
}

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

/// <summary>What a hook of <see cref="ItemHooks{TItem}"/> is told.</summary>
/// <typeparam name="TItem">The type of the items.</typeparam>
[SuppressMessage("Performance", "CA1815:Override equals and operator equals on value types", Justification = "It is read, not compared.")]
[SuppressMessage("Naming", "CA1716:Identifiers should not match keywords", Justification = "The field's term, the same as ItemOutcome.Error.")]
public readonly struct ItemAttempt<TItem>
{
    internal ItemAttempt(TItem item, long index, int attempt, Exception? error)
    {
        Item = item;
        Index = index;
        Attempt = attempt;
        Error = error;
    }

    /// <summary>The item.</summary>
    public TItem Item { get; }

    /// <summary>The item's position in the source, from 0.</summary>
    public long Index { get; }

    /// <summary>
    /// The number of the attempt, from 1: the one that begins, has succeeded or has failed. For an item whose time was up while it waited for another attempt,
    /// the one before the wait.
    /// </summary>
    public int Attempt { get; }

    /// <summary>The exception of a failed attempt; <see langword="null"/> before the first attempt and after a success.</summary>
    public Exception? Error { get; }
}

/// <summary>What has an item, for code that does not know its type.</summary>
internal interface IWithItem<out TItem>
{
    TItem Item { get; }
}

/// <summary>Converts indices for the hooks.</summary>
internal static class Indices
{
    public static int ToInt(long index) => index > int.MaxValue ? int.MaxValue : (int)index;
}
