using FsCheck;
using FsCheck.Fluent;

namespace Weir.TestKit;

/// <summary>Runs a property on generated cases. A failure shows the smallest case found and the seed that repeats it.</summary>
internal static class Generated
{
    public static void ForAll<T>(Gen<T> generator, Action<T> test, int cases = 300) =>
        Check.One(
            Config.QuickThrowOnFailure.WithMaxTest(cases),
            Prop.ForAll(generator.ToArbitrary(), test));
}
