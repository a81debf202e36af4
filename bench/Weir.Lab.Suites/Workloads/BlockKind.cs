namespace Weir.Lab.Suites.Workloads;

/// <summary>The blocks that call a delegate.</summary>
internal enum BlockKind
{
    Action,
    Transform,
    TransformMany,
}
