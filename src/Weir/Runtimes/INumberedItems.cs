namespace Weir.Runtimes;

/// <summary>Items of a call that is already traced.</summary>
internal interface INumberedItems;
