namespace Weir.Dataflow.Links;

/// <summary>A block of this library, as another one sees it that is linked to it.</summary>
internal interface ICoreTarget<T>
{
    DirectTarget<T> Core { get; }
}
