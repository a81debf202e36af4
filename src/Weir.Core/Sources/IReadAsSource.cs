namespace Weir.Core.Sources;

/// <summary>A sequence that runs do not enumerate, because they have to tell its source more than that they want the next item.</summary>
internal interface IReadAsSource<T> : IEnumerable<T>
{
    Source<T> MakeSource();
}
