using System.Reflection;

namespace Weir.Tests.PublicApi;

/// <summary>A member, and the line that declares it.</summary>
internal sealed record ApiMember(MemberInfo Member, string Line);
