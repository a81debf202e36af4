using System.Diagnostics.CodeAnalysis;

namespace Weir.Policies;

/// <summary>The hooks of a run that get items, for code that does not know their type.</summary>
internal abstract class HookCalls
{
    /// <summary>Whether failed items are reported.</summary>
    public abstract bool HasError { get; }

    public abstract ValueTask RetryAsync(ItemRecord record, long index, Exception error);

    public abstract ValueTask<bool> ErrorAsync(ItemRecord record, long index, Exception error);
}

/// <summary>Calls the hooks of a run that get items.</summary>
[SuppressMessage("Usage", "CA2208:Instantiate argument exceptions correctly", Justification = "Wrong options are named after their property.")]
internal sealed class HookCalls<TItem>(ItemHooks<TItem> hooks) : HookCalls
{
    public override bool HasError => hooks.OnErrorAsync is not null;

    /// <exception cref="ArgumentException">The hooks are those of items of another type.</exception>
    public static HookCalls<TItem>? Of(ParallelRunOptions options) => options.Hooks?.Items switch
    {
        null => null,
        ItemHooks<TItem> hooks => new HookCalls<TItem>(hooks),
        { } other => throw new ArgumentException(
            $"Hooks are those of items of type {other.ItemType.Name}, but the items here are of type {typeof(TItem).Name}.", nameof(options.Hooks)),
    };

    public ValueTask StartAsync(CallPolicies policies, ItemRecord record, TItem item, long index) =>
        hooks.OnStartItemAsync is { } hook ? CallAsync(policies, hook, new(item, index, record.Attempt, null)) : default;

    public ValueTask CompleteAsync(CallPolicies policies, ItemRecord record, TItem item, long index) =>
        hooks.OnCompleteItemAsync is { } hook ? CallAsync(policies, hook, new(item, index, record.Attempt, null)) : default;

    public override ValueTask RetryAsync(ItemRecord record, long index, Exception error) =>
        hooks.OnRetryAsync is { } hook ? hook(AttemptOf(record, index, error)) : default;

    public override ValueTask<bool> ErrorAsync(ItemRecord record, long index, Exception error) =>
        hooks.OnErrorAsync is { } hook ? hook(AttemptOf(record, index, error)) : new ValueTask<bool>(true);

    private static ItemAttempt<TItem> AttemptOf(ItemRecord record, long index, Exception error) =>
        new(((ItemRecord<TItem>)record).Item, index, record.Attempt, error);

    // An item whose hook throws fails, and its call, which may well have succeeded, is not repeated.
    private static async ValueTask CallAsync(CallPolicies policies, Func<ItemAttempt<TItem>, ValueTask> hook, ItemAttempt<TItem> attempt)
    {
        try
        {
            await hook(attempt).ConfigureAwait(false);
        }
        catch (Exception e)
        {
            policies.HookFailed(e);
            throw;
        }
    }
}
