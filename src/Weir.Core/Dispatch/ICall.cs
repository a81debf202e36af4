namespace Weir.Core.Dispatch;

/// <summary>
/// What a run does with one item. A struct given as a type parameter, so that the run without features compiles to nothing but
/// the user's delegate.
/// </summary>
/// <remarks>No member has a body here, and none is static: what a struct does not have itself cannot be compiled ahead of time.</remarks>
/// <typeparam name="TItem">The items.</typeparam>
/// <typeparam name="TPending">How the call says that it is not done yet.</typeparam>
internal interface ICall<in TItem, TPending>
{
    /// <summary>Whether the call writes its large pending struct where the worker has it, most of the time only a part of it, because to return it costs more than all the rest.</summary>
    bool InvokesInPlace { get; }

    /// <summary>Starts the call.</summary>
    /// <param name="item">The item.</param>
    /// <param name="index">Its index.</param>
    /// <param name="isFirst">Whether the item comes for the first time, and not for another attempt.</param>
    /// <param name="cancellationToken">Cancelled when the run stops, or the time of the attempt is up.</param>
    TPending Invoke(TItem item, long index, bool isFirst, CancellationToken cancellationToken);

    /// <summary>Does the same, in place. Only when <see cref="InvokesInPlace"/>.</summary>
    void InvokeInPlace(TItem item, long index, bool isFirst, CancellationToken cancellationToken, ref TPending pending);
}
