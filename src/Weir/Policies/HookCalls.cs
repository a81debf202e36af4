namespace Weir.Policies;

/// <summary>The hooks of a run that get items, for code that does not know their type.</summary>
internal abstract class HookCalls
{
    /// <summary>Whether failed items are reported.</summary>
    public abstract bool HasError { get; }

    public abstract ValueTask RetryAsync(ItemRecord record, long index, Exception error);

    public abstract ValueTask<bool> ErrorAsync(ItemRecord record, long index, Exception error);
}
