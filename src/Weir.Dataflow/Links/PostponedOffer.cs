using System.Threading.Tasks.Dataflow;

namespace Weir.Dataflow.Links;

/// <summary>The latest offer of a source. A source has at most one: a later offer replaces it in its place.</summary>
internal sealed class PostponedOffer<T>(ISourceBlock<T> source, DataflowMessageHeader header) : PostponedNode<T>
{
    public ISourceBlock<T> Source { get; } = source;

    public DataflowMessageHeader Header { get; set; } = header;
}
