namespace Weir.Core.Sources;

/// <summary>Lanes that have to know when an item has ended, so that the next one of its lane can start.</summary>
internal interface ILanes
{
    void ItemEnded(long index);
}
