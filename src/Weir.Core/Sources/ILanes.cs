namespace Weir.Core.Sources;

/// <summary>Lanes that must know when an item has ended, so that the next item of its lane can start.</summary>
internal interface ILanes
{
    void ItemEnded(long index);
}
