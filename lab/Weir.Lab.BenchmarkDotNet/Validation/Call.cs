namespace Weir.Lab.Benchmarks.Validation;

/// <summary>A call in the body of a method.</summary>
/// <param name="Method">What is called.</param>
/// <param name="Milliseconds">
/// The constant number that stands just before it, which is the first argument of a call with one; <see langword="null"/> when there is none.
/// </param>
/// <param name="IsDropped">Whether what it returns is thrown away.</param>
internal sealed record Call(MethodBase Method, int? Milliseconds, bool IsDropped);
