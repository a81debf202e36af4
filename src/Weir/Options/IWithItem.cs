namespace Weir;

/// <summary>What has an item, for code that does not know its type.</summary>
internal interface IWithItem<out TItem>
{
    TItem Item { get; }
}
