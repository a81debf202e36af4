namespace Weir.Dataflow.Cores;

/// <summary>A block of this library, as another one sees it that is linked to it.</summary>
internal interface ICoreTarget<T>
{
    TargetCore<T> Core { get; }
}
