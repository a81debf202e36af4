namespace Weir.Lab.Results;

/// <summary>A method and its samples.</summary>
/// <param name="Name">Its full name.</param>
/// <param name="Exclusive">Samples that ended in it.</param>
/// <param name="Inclusive">Samples that ended in it or in what it called.</param>
public sealed record ProfileMethod(string Name, int Exclusive, int Inclusive);
