namespace Weir.Runtimes;

/// <summary>
/// Overloads for processors that return a <see cref="Task"/>, that take no token, or that are synchronous. An async lambda with a token does not need them,
/// because it converts to a <see cref="ValueTask"/>.
/// </summary>
public static partial class ExecutionRuntimeExtensions;
