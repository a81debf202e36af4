using FsCheck;
using FsCheck.Fluent;

namespace Weir.Lab.Tests;

/// <summary>Runs a property on generated cases. A failure shows the smallest case found and the seed that repeats it.</summary>
internal static class Check
{
    public static void ForAll<T>(Gen<T> generator, Action<T> test, int cases = 300) =>
        FsCheck.Check.One(
            Config.QuickThrowOnFailure.WithMaxTest(cases),
            Prop.ForAll(generator.ToArbitrary(), test));
}
