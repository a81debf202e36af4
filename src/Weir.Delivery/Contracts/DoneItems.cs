namespace Weir.Delivery;

/// <summary>Some items of a batch that are done.</summary>
/// <typeparam name="T">The type of the items' values.</typeparam>
/// <param name="Batch">The batch.</param>
/// <param name="Places">Where they are in <see cref="WorkBatch{T}.Items"/>, from 0, each once, in any order.</param>
public readonly record struct DoneItems<T>(WorkBatch<T> Batch, IReadOnlyList<int> Places);
