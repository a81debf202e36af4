namespace Weir.Core.Dispatch;

/// <summary>
/// What a run does with one item. A struct given as a type parameter, so that the run without features compiles to nothing but
/// the user's delegate.
/// </summary>
/// <typeparam name="TItem">The items.</typeparam>
/// <typeparam name="TPending">How the call says that it is not done yet.</typeparam>
internal interface ICall<in TItem, out TPending>
{
    TPending Invoke(TItem item, long index, CancellationToken cancellationToken);
}
