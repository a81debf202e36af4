namespace Weir.Lab.Results;

/// <summary>An await that was waited for, and the asynchronous methods that it held.</summary>
/// <param name="Frames">The methods from the outermost that awaits to the innermost, between semicolons, and at the end what that one awaits.</param>
/// <param name="Times">How often.</param>
/// <param name="Seconds">How long all of them together, in seconds.</param>
public sealed record ProfileAwait(string Frames, int Times, double Seconds);
