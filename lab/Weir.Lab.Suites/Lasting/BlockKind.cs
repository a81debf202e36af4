namespace Weir.Lab.Suites.Lasting;

/// <summary>The blocks that call a delegate.</summary>
internal enum BlockKind
{
    Action,
    Transform,
    TransformMany,
}
