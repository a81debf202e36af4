namespace Weir.Tests.Resolution.Shapes;

/// <summary>The overloads that there are for one operator and one source.</summary>
internal enum CallKind
{
    ValueTask = 0,

    Task = 1,

    NoTokenValueTask = 2,

    NoTokenTask = 3,

    Synchronous = 4,

    SynchronousWithToken = 5,
}
