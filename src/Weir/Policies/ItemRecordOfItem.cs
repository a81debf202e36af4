namespace Weir.Policies;

/// <summary>A record with its item.</summary>
internal sealed class ItemRecord<TItem>(TItem item, long started) : ItemRecord(started), IWithItem<TItem>
{
    public TItem Item => item;
}
