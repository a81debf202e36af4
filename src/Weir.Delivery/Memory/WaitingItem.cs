namespace Weir.Delivery;

/// <summary>An item that waits, and since when it could be taken.</summary>
/// <param name="Item">The item.</param>
/// <param name="Since">As the clock of the queue counts.</param>
internal readonly record struct WaitingItem<T>(WorkItem<T> Item, long Since);
