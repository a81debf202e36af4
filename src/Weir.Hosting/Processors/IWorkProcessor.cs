namespace Weir.Hosting;

/// <summary>The part of every processor that does not depend on the type of its items. Implement <see cref="IWorkProcessor{T}"/>.</summary>
public interface IWorkProcessor
{
    /// <summary>Tells the type of the items, without reflection. A processor of two types of items does not compile: a worker has one.</summary>
    internal static abstract void Accept(IItemTypeVisitor visitor);
}

/// <summary>Processes the items of a worker.</summary>
/// <typeparam name="T">The type of the items' values.</typeparam>
/// <remarks>
/// Each item has a scope of its own: the worker creates the scope, gets the processor from it, and disposes it when the item has ended. So a processor may use
/// scoped services, such as a database context, without sharing them with items that run at the same time.
/// </remarks>
public interface IWorkProcessor<T> : IWorkProcessor
{
    /// <summary>Processes an item. When it returns, the item is done, so its effects must be durable by then.</summary>
    /// <param name="item">The item. It may come again, with the same identity, if the process dies before it is acknowledged.</param>
    /// <param name="cancellationToken">Cancelled when the item exceeds its time limit, or when the host stops and the grace period ends.</param>
    /// <returns>
    /// A task that completes when the item is done. If it is cancelled because the host stops, the item is returned to the queue and counts as no attempt.
    /// </returns>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    ValueTask ProcessAsync(WorkItem<T> item, CancellationToken cancellationToken);

    static void IWorkProcessor.Accept(IItemTypeVisitor visitor) => visitor.Visit<T>();
}

/// <summary>Gets the type of the items of a processor.</summary>
internal interface IItemTypeVisitor
{
    void Visit<T>();
}
