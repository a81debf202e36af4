using Weir.Core.Metering;

namespace Weir.Core.Dispatch;

/// <summary>
/// What a run does with one item. A struct given as a type parameter, so that the run without features compiles to nothing but
/// the user's delegate.
/// </summary>
/// <typeparam name="TItem">The items.</typeparam>
/// <typeparam name="TPending">How the call represents that it has not completed yet.</typeparam>
internal interface ICall<in TItem, TPending>
{
    /// <summary>
    /// Whether the call writes its large pending struct directly to the worker's copy, usually only a part of it, because returning it would cost more than
    /// everything else.
    /// </summary>
    bool UsesInvokeInto { get; }

    /// <summary>Starts the call.</summary>
    /// <param name="item">The item.</param>
    /// <param name="index">Its index.</param>
    /// <param name="isFirst">Whether this is the item's first attempt.</param>
    /// <param name="cancellationToken">Cancelled when the run stops or the attempt's time limit passes.</param>
    TPending Invoke(TItem item, long index, bool isFirst, CancellationToken cancellationToken);

    /// <summary>Does the same, and writes the result to <paramref name="pending"/>. Only when <see cref="UsesInvokeInto"/>.</summary>
    void InvokeInto(TItem item, long index, bool isFirst, CancellationToken cancellationToken, ref TPending pending);

    /// <summary>
    /// An item was given up inside this call, which may never end: what the call holds must not wait for its end. Called once, on any thread, perhaps before
    /// the call holds anything or after it has ended.
    /// </summary>
    /// <param name="item">The item, if the run has a recovery.</param>
    /// <param name="index">Its index.</param>
    void GivenUp(TItem? item, long index);

    /// <summary>Adds what the call knows of the items inside it, and of what is around them.</summary>
    void AddTo(ref RunSample sample);
}
