namespace Weir;

/// <summary>Hooks that get the item itself. Create them as <see cref="ItemHooks{TItem}"/>.</summary>
public abstract record ItemHooks
{
    private protected ItemHooks()
    {
    }

    /// <summary>The type of the items, for messages.</summary>
    internal abstract Type ItemType { get; }
}
