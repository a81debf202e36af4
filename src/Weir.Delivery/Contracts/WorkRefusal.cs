namespace Weir.Delivery;

/// <summary>An item that a sink can never store, and why.</summary>
/// <param name="Place">The place of the item in the list that was to be written, from 0.</param>
/// <param name="Reason">What becomes the reason of its dead letter.</param>
/// <param name="Error">What is wrong with it.</param>
public readonly record struct WorkRefusal(int Place, DeadLetterReason Reason, string Error);
