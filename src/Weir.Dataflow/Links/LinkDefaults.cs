using System.Threading.Tasks.Dataflow;

namespace Weir.Dataflow.Links;

internal static class LinkDefaults
{
    public static readonly DataflowLinkOptions Options = new();

    /// <summary>The target as a link with a predicate sees it.</summary>
    public static ITargetBlock<T> Filter<T>(ISourceBlock<T> source, ITargetBlock<T> target, DataflowLinkOptions linkOptions, Predicate<T> predicate)
    {
        ArgumentNullException.ThrowIfNull(target);
        ArgumentNullException.ThrowIfNull(linkOptions);
        ArgumentNullException.ThrowIfNull(predicate);
        return new PassThrough<T>(source, target, predicate);
    }
}
