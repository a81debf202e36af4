namespace Weir.Operators;

/// <summary>Whose keys a partitioned sequence has: those of its items, or those of the batches that they are put into.</summary>
internal sealed class PartitionKeys<T>(ItemKeys<T>? items, ItemKeys<IReadOnlyList<T>>? batches)
{
    /// <exception cref="ArgumentException">The keys are those of batches.</exception>
    public ItemKeys<T> Items => items ?? throw new ArgumentException(
        "PartitionBatchesBy gives keys to batches, and this call has none: use PartitionBy, which gives them to items.");

    /// <exception cref="ArgumentException">The keys are those of items.</exception>
    public ItemKeys<IReadOnlyList<T>> Batches => batches ?? throw new ArgumentException(
        "PartitionBy gives keys to items, and this call is for batches: use PartitionBatchesBy, which gives a key to each batch.");

    public static InvalidOperationException ReadByOthers() => new(
        "Items with keys are for an operator or a runtime, as items of their own type: anything else that reads them, such as a method of LINQ, would lose "
        + "the keys. Call PartitionBy last.");
}
