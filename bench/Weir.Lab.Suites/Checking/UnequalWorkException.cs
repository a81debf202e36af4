namespace Weir.Lab.Suites.Checking;

/// <summary>An arm of a suite does other work than its baseline, so a comparison would mean nothing.</summary>
/// <param name="message">Which arm, and how it differs.</param>
public sealed class UnequalWorkException(string message) : Exception(message);
